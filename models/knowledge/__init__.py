"""Machines that know more than samples: related tasks, labeled regions, or two moments of each class."""
