// Commands of the change stream protocol that clients send (public document: kv_engine docs/dcp/documentation).
import { defineCommand } from '../define-command.ts';

const reads = { any: ['dcpProducer', 'dcpStream'], anywhere: true } as const;

export const DcpOpen = defineCommand({
  opcode: 0x50,
  name: 'DCP_OPEN',
  session: 'bucket',
  privilege: { all: ['dcpProducer'] },
  request: { extras: [8], key: 'text', value: 'optional' },
  doc: 'Turns the connection into a change stream connection. An older one of the same name is closed.',
});

export const DcpCloseStream = defineCommand({
  opcode: 0x52,
  name: 'DCP_CLOSE_STREAM',
  session: 'bucket',
  privilege: reads,
  streamId: true,
  doc: 'Ends the stream of a vbucket.',
});

export const DcpStreamRequest = defineCommand({
  opcode: 0x53,
  name: 'DCP_STREAM_REQ',
  session: 'bucket',
  privilege: { all: ['dcpStream'], anywhere: true },
  request: { extras: [48], value: 'optional' },
  doc: 'Starts a stream of the changes of a vbucket from a seqno, or replies with the seqno to which the client must roll back. Without a filter it requires dcpStream in the whole bucket; with a filter, in each collection that the filter names.',
});

export const DcpGetFailoverLog = defineCommand({
  opcode: 0x54,
  name: 'DCP_GET_FAILOVER_LOG',
  session: 'bucket',
  privilege: reads,
  doc: 'The failover log of a vbucket: uuid and first seqno of each entry, newest first.',
});

export const DcpNoop = defineCommand({
  opcode: 0x5c,
  name: 'DCP_NOOP',
  session: 'bucket',
  doc: 'Does nothing: shows that the peer is alive.',
});

export const DcpBufferAck = defineCommand({
  opcode: 0x5d,
  name: 'DCP_BUFFER_ACKNOWLEDGEMENT',
  session: 'bucket',
  request: { extras: [4] },
  doc: 'Reports how many bytes of messages the client has processed; the server may send as many more. There is no reply.',
});

export const DcpControl = defineCommand({
  opcode: 0x5e,
  name: 'DCP_CONTROL',
  session: 'bucket',
  request: { key: 'text', value: 'required' },
  doc: 'Sets an option of the connection.',
});
