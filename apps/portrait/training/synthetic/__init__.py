"""Synthetic portraits: drawn people before drawn backgrounds, seen by a modelled camera, with exact alpha. No photographs."""
