// A decoded sub-document request, and the features that decide what it may hold.

/** What the connection negotiated that matters here. */
export interface SubdocFeatures {
  /** HELLO 0x06. Without it every xattr path is refused as not supported. */
  xattr: boolean;
  /** HELLO 0x18: macros `${$document...}`. */
  documentMacro: boolean;
  /** HELLO 0x19: the operation that makes an xattr's value the body. */
  replaceBodyWithXattr: boolean;
  /** HELLO 0x1c: reads on replicas. */
  replicaRead: boolean;
  /** HELLO 0x20: more than one xattr key in a request. */
  multiXattrKeys: boolean;
  /** HELLO 0x21: xattr values that are any bytes. */
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
  /** As on the wire; 0 when not given, which clears the document's expiry unless it is to be preserved. */
  expiry: number;
  /** New user flags, or null to keep those of the document. */
  userFlags: number | null;
  /** From a single-path opcode: a failure is answered in the header. */
  single: boolean;
}
