"""Evaluation of tables that are larger than memory: blocks of whole posts are read, checked and added up one by one."""
