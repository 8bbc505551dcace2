// The error map: attributes of each status, from which clients derive how to handle statuses that they do not know
// (public document: kv_engine docs/ErrorMap.md).

type Entry = readonly [code: number, name: string, description: string, ...attributes: string[]];

const entries: readonly Entry[] = [
  [0x00, 'SUCCESS', 'Success', 'success'],
  [0x01, 'KEY_ENOENT', 'Not found', 'item-only'],
  [0x02, 'KEY_EEXISTS', 'The key exists, or the CAS does not match', 'item-only'],
  [0x03, 'E2BIG', 'Value too large', 'item-only', 'invalid-input'],
  [0x04, 'EINVAL', 'Invalid arguments', 'internal', 'invalid-input'],
  [0x05, 'NOT_STORED', 'Not stored', 'item-only', 'internal'],
  [0x06, 'DELTA_BADVAL', 'The value is not a number', 'item-only', 'invalid-input'],
  [0x07, 'NOT_MY_VBUCKET', 'Another node serves this vbucket', 'fetch-config', 'invalid-input'],
  [0x08, 'NO_BUCKET', 'No bucket selected', 'conn-state-invalidated'],
  [0x09, 'LOCKED', 'The document is locked', 'item-locked', 'item-only', 'retry-now'],
  [0x0a, 'DCP_STREAM_NOT_FOUND', 'No such stream', 'conn-state-invalidated'],
  [0x0b, 'OPAQUE_NO_MATCH', 'The opaque does not match', 'conn-state-invalidated'],
  [0x0c, 'EWOULDTHROTTLE', 'The request would be throttled', 'rate-limit', 'temp', 'retry-later'],
  [0x0d, 'ECONFIGONLY', 'The bucket only serves its configuration', 'fetch-config', 'retry-now'],
  [0x0e, 'NOT_LOCKED', 'The document is not locked', 'item-only'],
  [0x0f, 'CAS_VALUE_INVALID', 'The CAS value is invalid', 'item-only'],
  [0x1f, 'AUTH_STALE', 'Authentication is out of date', 'conn-state-invalidated', 'auth'],
  [0x20, 'AUTH_ERROR', 'Authentication failed', 'conn-state-invalidated', 'auth'],
  [0x21, 'AUTH_CONTINUE', 'Authentication continues', 'special-handling'],
  [0x22, 'ERANGE', 'Outside the legal range', 'invalid-input'],
  [0x23, 'ROLLBACK', 'The stream must roll back', 'dcp', 'special-handling'],
  [0x24, 'EACCESS', 'Not allowed', 'support'],
  [0x25, 'NOT_INITIALIZED', 'The node is being set up', 'conn-state-invalidated'],
  [0x30, 'RATE_LIMITED_NETWORK_INGRESS', 'Received data limit reached', 'temp', 'rate-limit', 'retry-later'],
  [0x31, 'RATE_LIMITED_NETWORK_EGRESS', 'Sent data limit reached', 'temp', 'rate-limit', 'retry-later'],
  [
    0x32,
    'RATE_LIMITED_MAX_CONNECTIONS',
    'Connection limit of the user reached',
    'conn-state-invalidated',
    'rate-limit',
  ],
  [0x33, 'RATE_LIMITED_MAX_COMMANDS', 'Operation limit reached', 'temp', 'rate-limit', 'retry-later'],
  [0x80, 'UNKNOWN_FRAME_INFO', 'Unknown framing extra', 'support'],
  [0x81, 'UNKNOWN_COMMAND', 'Unknown command', 'support'],
  [0x82, 'ENOMEM', 'Out of memory', 'temp', 'retry-later'],
  [0x83, 'NOT_SUPPORTED', 'Not supported', 'support'],
  [0x84, 'EINTERNAL', 'Internal error', 'conn-state-invalidated', 'internal'],
  [0x85, 'EBUSY', 'Busy', 'temp', 'retry-now'],
  [0x86, 'ETMPFAIL', 'Temporary failure', 'temp', 'retry-now'],
  [0x87, 'XATTR_EINVAL', 'Invalid extended attributes', 'invalid-input'],
  [0x88, 'UNKNOWN_COLLECTION', 'Unknown collection', 'invalid-input'],
  [0x8a, 'CANNOT_APPLY_MANIFEST', 'The collection manifest cannot be applied', 'invalid-input'],
  [0x8b, 'MANIFEST_IS_AHEAD', 'The manifest of the client is ahead of that of the node', 'invalid-input'],
  [0x8c, 'UNKNOWN_SCOPE', 'Unknown scope', 'invalid-input'],
  [0x8d, 'STREAM_ID_INVALID', 'The stream id is missing, or not allowed', 'invalid-input'],
  [0xa0, 'DURABILITY_INVALID_LEVEL', 'Invalid durability level', 'invalid-input'],
  [0xa1, 'DURABILITY_IMPOSSIBLE', 'Durability cannot be reached', 'item-only', 'invalid-input'],
  [0xa2, 'SYNC_WRITE_IN_PROGRESS', 'A durable write is in progress', 'item-only', 'retry-later'],
  [0xa3, 'SYNC_WRITE_AMBIGUOUS', 'The outcome of a durable write is unknown', 'item-only'],
  [
    0xa4,
    'SYNC_WRITE_RE_COMMIT_IN_PROGRESS',
    'A durable write is being committed again',
    'item-only',
    'retry-later',
  ],
  [0xa5, 'RANGE_SCAN_CANCELLED', 'The range scan was cancelled', 'success'],
  [0xa6, 'RANGE_SCAN_MORE', 'The range scan has more', 'success'],
  [0xa7, 'RANGE_SCAN_COMPLETE', 'The range scan is complete', 'success'],
  [0xa8, 'VB_UUID_NOT_EQUAL', 'The vbucket has another uuid', 'invalid-input'],
  [0xc0, 'SUBDOC_PATH_ENOENT', 'Path not found', 'item-only'],
  [0xc1, 'SUBDOC_PATH_MISMATCH', 'The path leads through a value of another type', 'item-only'],
  [0xc2, 'SUBDOC_PATH_EINVAL', 'Invalid path', 'subdoc', 'invalid-input'],
  [0xc3, 'SUBDOC_PATH_E2BIG', 'Path too long', 'subdoc', 'invalid-input'],
  [0xc4, 'SUBDOC_DOC_E2DEEP', 'Document too deep', 'subdoc', 'invalid-input'],
  [0xc5, 'SUBDOC_VALUE_CANTINSERT', 'The value cannot be inserted', 'subdoc', 'invalid-input'],
  [0xc6, 'SUBDOC_DOC_NOT_JSON', 'The document is not JSON', 'item-only'],
  [0xc7, 'SUBDOC_NUM_ERANGE', 'Stored number out of range', 'item-only'],
  [0xc8, 'SUBDOC_DELTA_EINVAL', 'Invalid delta', 'item-only'],
  [0xc9, 'SUBDOC_PATH_EEXISTS', 'The path exists', 'item-only'],
  [0xca, 'SUBDOC_VALUE_ETOODEEP', 'Value too deep', 'item-only', 'invalid-input'],
  [0xcb, 'SUBDOC_INVALID_COMBO', 'Invalid combination of commands', 'subdoc', 'invalid-input'],
  [0xcc, 'SUBDOC_MULTI_PATH_FAILURE', 'At least one path failed', 'subdoc', 'special-handling'],
  [0xcd, 'SUBDOC_SUCCESS_DELETED', 'Success on a deleted document', 'success', 'item-deleted', 'subdoc'],
  [0xce, 'SUBDOC_XATTR_INVALID_FLAG_COMBO', 'Invalid combination of flags', 'subdoc', 'invalid-input'],
  [0xcf, 'SUBDOC_XATTR_INVALID_KEY_COMBO', 'Invalid combination of keys', 'subdoc', 'invalid-input'],
  [0xd0, 'SUBDOC_XATTR_UNKNOWN_MACRO', 'Unknown macro', 'subdoc', 'invalid-input'],
  [0xd1, 'SUBDOC_XATTR_UNKNOWN_VATTR', 'Unknown virtual attribute', 'subdoc', 'invalid-input'],
  [0xd2, 'SUBDOC_XATTR_CANT_MODIFY_VATTR', 'Virtual attributes are read only', 'subdoc', 'invalid-input'],
  [
    0xd3,
    'SUBDOC_MULTI_PATH_FAILURE_DELETED',
    'At least one path of a deleted document failed',
    'item-deleted',
    'subdoc',
    'special-handling',
  ],
  [0xd4, 'SUBDOC_INVALID_XATTR_ORDER', 'Attributes come before the body', 'subdoc', 'invalid-input'],
  [0xd5, 'SUBDOC_XATTR_UNKNOWN_VATTR_MACRO', 'Unknown macro of an attribute', 'subdoc', 'invalid-input'],
  [0xd6, 'SUBDOC_CAN_ONLY_REVIVE_DELETED_DOCUMENTS', 'Only deleted documents can be revived', 'item-only'],
  [0xd7, 'SUBDOC_DELETED_DOCUMENT_CANT_HAVE_VALUE', 'A deleted document has no body', 'item-only'],
  [0xd8, 'XATTR_NOT_BINARY_VALUE', 'Not a binary value', 'item-only'],
];

/** Attributes introduced by format 2; clients of format 1 may reject unknown attributes. */
const newInFormat2 = new Set(['rate-limit', 'item-deleted', 'system-constraint']);

/** The map as JSON in the newest format that the client supports. */
export function errorMapJson(formatMax: number): string {
  const version = Math.min(formatMax, 2);
  const errors: Record<string, { name: string; desc: string; attrs: string[] }> = {};
  for (const [code, name, desc, ...attributes] of entries) {
    const attrs = attributes.filter((attribute) => version > 1 || !newInFormat2.has(attribute));
    errors[code.toString(16)] = { name, desc, attrs };
  }
  return JSON.stringify({ version, revision: version === 1 ? 4 : 9, errors });
}
