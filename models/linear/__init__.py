"""Linear machines of many samples or sparse features, by Newton steps or coordinate descent."""
