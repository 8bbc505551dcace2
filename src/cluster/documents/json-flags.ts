/** Flags that mark a document as JSON for current and for the earliest client libraries. The flags of `#client` are for current ones only. */
export const jsonFlagsForAll = 0x02000006;
