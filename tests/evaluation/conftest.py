"""The small runs that these tests share."""

from builders.runs import files, saved, split_files, split_saved

__all__ = ["files", "saved", "split_files", "split_saved"]
