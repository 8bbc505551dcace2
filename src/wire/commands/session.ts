// Commands that set up a connection or do not concern a bucket.
import { defineCommand } from '../define-command.ts';

export const Hello = defineCommand({
  opcode: 0x1f,
  name: 'HELLO',
  session: 'none',
  request: { key: 'optional', value: 'optional' },
  doc: 'Names the client and requests features; the reply lists those granted, which replace all granted before.',
});

export const SaslListMechanisms = defineCommand({
  opcode: 0x20,
  name: 'SASL_LIST_MECHS',
  session: 'none',
  doc: 'Lists the authentication mechanisms.',
});

export const SaslAuth = defineCommand({
  opcode: 0x21,
  name: 'SASL_AUTH',
  session: 'none',
  request: { key: 'text', value: 'optional' },
  doc: 'Starts an authentication; resets the authenticated user and the selected bucket.',
});

export const SaslStep = defineCommand({
  opcode: 0x22,
  name: 'SASL_STEP',
  session: 'none',
  request: { key: 'text', value: 'optional' },
  doc: 'Continues an authentication.',
});

export const SelectBucket = defineCommand({
  opcode: 0x89,
  name: 'SELECT_BUCKET',
  session: 'authenticated',
  request: { key: 'optional' },
  doc: 'Selects the bucket of the following commands.',
});

export const GetClusterConfig = defineCommand({
  opcode: 0xb5,
  name: 'GET_CLUSTER_CONFIG',
  session: 'authenticated',
  request: { extras: [0, 16] },
  reorderable: true,
  duringWarmup: true,
  doc: 'The configuration of the selected bucket, or of the cluster if none is selected.',
});

export const GetErrorMap = defineCommand({
  opcode: 0xfe,
  name: 'GET_ERROR_MAP',
  session: 'none',
  request: { value: 'required' },
  doc: 'The error map: attributes of each status.',
});

export const Noop = defineCommand({ opcode: 0x0a, name: 'NOOP', session: 'none', doc: 'Does nothing.' });

export const Version = defineCommand({
  opcode: 0x0b,
  name: 'VERSION',
  session: 'none',
  doc: 'The version of the server.',
});

export const Quit = defineCommand({
  opcode: 0x07,
  name: 'QUIT',
  session: 'none',
  doc: 'Replies, then closes the connection.',
});

export const QuitQuietly = defineCommand({
  opcode: 0x17,
  name: 'QUITQ',
  session: 'none',
  doc: 'Closes the connection without a reply.',
});

export const Verbosity = defineCommand({
  opcode: 0x1b,
  name: 'VERBOSITY',
  session: 'authenticated',
  privilege: { all: ['administrator'] },
  request: { extras: [4] },
  doc: 'Accepted and ignored: the log level is a setting of the node.',
});

export const ListBuckets = defineCommand({
  opcode: 0x87,
  name: 'LIST_BUCKETS',
  session: 'authenticated',
  doc: 'Names of the buckets that the user may select.',
});
