// Options that a client sets on a DCP connection, by name and text.
import type { MarkerVersion } from '#wire/dcp.ts';

export interface Controls {
  noop: boolean;
  noopIntervalMs: number;
  /** Unacknowledged bytes that the client accepts, 0 = no limit. */
  bufferBytes: number;
  /** Expirations are messages of their own instead of deletions. */
  expiryOpcode: boolean;
  /** A stream that the client closes ends with a message. */
  endOnClose: boolean;
  /** A vbucket may have several streams, which ids distinguish. */
  streamIds: boolean;
  /** Values are sent compressed even if they are stored uncompressed. */
  forceCompression: boolean;
  /** Deletions are sent with the attributes of users too, not only with those of the system. */
  deletedUserXattrs: boolean;
  /** The request to close an unknown stream gets `streamNotFound` instead of `keyNotFound`. */
  v7StatusCodes: boolean;
  markerVersion: MarkerVersion;
  /** System events are FlatBuffers tables, and changes of collections are sent as events too. */
  eventTables: boolean;
  /** Streams from seqno 0 may leave out deletions and system events from before. */
  documentsOnly: boolean;
}

export const defaultControls = (): Controls => ({
  noop: false,
  noopIntervalMs: 20_000,
  bufferBytes: 0,
  expiryOpcode: false,
  endOnClose: false,
  streamIds: false,
  forceCompression: false,
  deletedUserXattrs: false,
  v7StatusCodes: false,
  markerVersion: 1,
  eventTables: false,
  documentsOnly: false,
});

/** Sets the option of this name; false when the option is unknown or its value invalid. */
export function setControl(controls: Controls, name: string, text: string): boolean {
  return options.get(name)?.(controls, text) ?? false;
}

type Option = (controls: Controls, text: string) => boolean;

const longestNoopSeconds = 10_800;

const options = new Map<string, Option>(
  Object.entries({
    enable_noop: flag((controls, on) => (controls.noop = on)),
    set_noop_interval: integer(1, longestNoopSeconds, (controls, seconds) => {
      controls.noopIntervalMs = seconds * 1000;
    }),
    connection_buffer_size: integer(0, 2 ** 32 - 1, (controls, bytes) => {
      controls.bufferBytes = bytes;
    }),
    enable_expiry_opcode: flag((controls, on) => (controls.expiryOpcode = on)),
    send_stream_end_on_client_close_stream: flag((controls, on) => (controls.endOnClose = on)),
    // Cannot be turned off again: streams of the connection are identified by it.
    enable_stream_id: flag((controls, on) => on && (controls.streamIds = true)),
    force_value_compression: flag((controls, on) => (controls.forceCompression = on)),
    include_deleted_user_xattrs: flag((controls, on) => (controls.deletedUserXattrs = on)),
    v7_dcp_status_codes: flag((controls, on) => (controls.v7StatusCodes = on)),
    enable_sync_writes: flag((controls, on) => {
      if (on && controls.markerVersion === 1) controls.markerVersion = 2;
    }),
    flatbuffers_system_events: flag((controls, on) => (controls.eventTables = on)),
    max_marker_version: oneOf(['2.0', '2.2'], (controls, text) => {
      controls.markerVersion = text === '2.2' ? 2.2 : 2;
    }),
    // Only this server has this control, for its index service: the first build of an index needs no deletions.
    divan_documents_only: flag((controls, on) => (controls.documentsOnly = on)),
    // Accepted without effect: these options leave the choice to the server, or describe what it always does.
    supports_cursor_dropping: flag(() => {}),
    supports_cursor_dropping_vulnerable: flag(() => {}),
    enable_out_of_order_snapshots: oneOf(['true', 'false', 'true_with_seqno_advanced'], () => {}),
    change_streams: flag(() => {}),
    set_priority: oneOf(['low', 'medium', 'high'], () => {}),
    backfill_order: oneOf(['round-robin', 'sequential'], () => {}),
    consumer_name: (_controls: Controls, text: string) => text.length > 0,
  }),
);

function flag(set: (controls: Controls, on: boolean) => unknown): Option {
  return oneOf(['true', 'false'], (controls, text) => set(controls, text === 'true'));
}

function oneOf(values: readonly string[], set: (controls: Controls, text: string) => unknown): Option {
  return (controls, text) => {
    if (!values.includes(text)) return false;
    set(controls, text);
    return true;
  };
}

function integer(least: number, most: number, set: (controls: Controls, value: number) => void): Option {
  return (controls, text) => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : -1;
    if (value < least || value > most) return false;
    set(controls, value);
    return true;
  };
}
