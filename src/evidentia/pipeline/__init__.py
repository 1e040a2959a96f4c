"""The pipeline: from texts to ranked evidence, a probability that there is any, and a decision."""
