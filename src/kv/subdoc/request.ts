// A decoded sub-document request, and the negotiated features that determine what it may contain.

/** The negotiated features of the connection, by their HELLO codes. */
export interface SubdocFeatures {
  /** HELLO 0x06. Without it every xattr path is refused as not supported. */
  xattr: boolean;
  /** HELLO 0x18: macros `${$document...}`. */
  documentMacro: boolean;
  /** HELLO 0x19: the operation that replaces the body by an xattr's value. */
  replaceBodyWithXattr: boolean;
  /** HELLO 0x1c: reads on replicas. */
  replicaRead: boolean;
  /** HELLO 0x20: more than one xattr key in a request. */
  multiXattrKeys: boolean;
  /** HELLO 0x21: binary xattr values. */
  binaryXattr: boolean;
}

/** One operation. Path, key and value are views of the request's bytes. */
export interface Spec {
  opcode: number;
  flags: number;
  path: Buffer;
  /** The first component of an xattr path, empty for a path into the body. */
  xattrKey: Buffer;
  value: Buffer;
}

export interface SubdocRequest {
  specs: Spec[];
  docFlags: number;
  /** In the protocol's format; 0 if absent, which clears the document's expiry unless the request preserves it. */
  expiry: number;
  /** New user flags, or null to keep those of the document. */
  userFlags: number | null;
  /** The request has a single-path opcode: a failure is the status in the header. */
  hasSinglePath: boolean;
}
