"""What tests are made of: runs, queries, posts, corpora and pipelines that are small enough to know."""
