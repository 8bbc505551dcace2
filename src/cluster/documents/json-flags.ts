/** Flags of a document that is JSON, for the earliest client libraries, too. Those of `#client` are for current ones. */
export const jsonFlagsForAll = 0x02000006;
