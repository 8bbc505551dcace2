// Where clients of benchmarks, which must take less time than the server, read and write single fields of a frame's header.

/** In the header of a request or of a reply. */
export const HeaderOffset = { opcode: 1, status: 6, bodyBytes: 8, opaque: 12 } as const;
