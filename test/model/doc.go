// Package model is an exhaustive checker of the laws of global quotas: a second,
// abstract implementation of them, small enough that every interleaving within
// stated bounds can be walked.
package model
