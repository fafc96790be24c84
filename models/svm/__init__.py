"""Support vector machines: classification, regression, one class, nu, and C by cross-validation."""
