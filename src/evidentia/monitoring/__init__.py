"""A pipeline in use, watched: new batches of posts against a reference batch that the same model scored."""

from evidentia.monitoring.course import BatchReport, Course, Settings, SignalResult
from evidentia.monitoring.watch import watch

__all__ = ["BatchReport", "Course", "Settings", "SignalResult", "watch"]
