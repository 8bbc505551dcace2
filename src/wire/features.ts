// Features that a client negotiates with HELLO (public document: kv_engine docs/BinaryProtocol.md, "Hello").

export const Feature = {
  tcpNoDelay: 0x03,
  mutationSeqno: 0x04,
  xattr: 0x06,
  xerror: 0x07,
  selectBucket: 0x08,
  snappy: 0x0a,
  json: 0x0b,
  duplex: 0x0c,
  clustermapPush: 0x0d,
  unorderedExecution: 0x0e,
  tracing: 0x0f,
  altRequest: 0x10,
  syncReplication: 0x11,
  collections: 0x12,
  preserveTtl: 0x14,
  virtualXattr: 0x15,
  createAsDeleted: 0x17,
  documentMacro: 0x18,
  replaceBodyWithXattr: 0x19,
  subdocReplicaRead: 0x1c,
  configWithKnownVersion: 0x1d,
  dedupeNotMyVbucket: 0x1e,
  clustermapPushBrief: 0x1f,
  multipleXattrKeys: 0x20,
  subdocBinaryXattr: 0x21,
} as const;
export type Feature = (typeof Feature)[keyof typeof Feature];

const featureCodes = new Set<number>(Object.values(Feature));
/** All feature codes are below this number. */
export const featureCodeMax = 64;

/** Pairs: the first feature is only granted together with the second. */
const needs: readonly (readonly [Feature, Feature])[] = [
  [Feature.clustermapPush, Feature.duplex],
  [Feature.clustermapPushBrief, Feature.duplex],
  [Feature.virtualXattr, Feature.xattr],
  [Feature.documentMacro, Feature.xattr],
];

/** The features to grant, in the requested order, or null if one was requested without the feature that it depends on. */
export function grantFeatures(requested: readonly number[]): number[] | null {
  const granted = [...new Set(requested)].filter((code) => featureCodes.has(code));
  const complete = needs.every(([feature, base]) => !granted.includes(feature) || granted.includes(base));
  return complete ? granted : null;
}
