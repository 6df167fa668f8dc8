// Package lang reads pipeline.hcl: blocks, references, types and expressions
// become a dag.Graph that is resolved, checked and proved, or diagnostics that
// say at which column what is wrong and what to write instead.
//
// It is called by the commands and by the engine, through Load alone.
//
// It refuses files that would kill a parser or hash differently elsewhere (too
// large, too deep, CRLF, not UTF-8), names that are spelt in quotes where a
// reference belongs, and every pipeline of which it cannot prove that each item
// ends, and ends at the gate or a stop.
//
// Decoding is by hand from the syntax tree, because every range is needed later;
// only a plugin's config block is decoded with hcldec, from the schema that the
// plugin gives.
package lang
