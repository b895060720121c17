#!/bin/sh
# Updates a workflow.
echo updated
