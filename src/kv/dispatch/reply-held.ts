// Replies whose outcome became known after their request's stretch.
import { Feature } from '#wire/features.ts';
import type { Output } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import type { HeldReply } from '../served/held-reply.ts';
import type { Client } from '../session/client.ts';
import { legacyStatus } from './legacy-status.ts';

/** Writes the reply; answers false to hang up instead. */
export function replyHeld(connection: Client, output: Output, held: HeldReply): boolean {
  const status = held.status ?? Status.internalError;
  if (status === Status.success && held.quiet) return true;
  if (held.bytes.length > 0 && status === Status.success) {
    const at = output.reserve(held.bytes.length);
    held.bytes.copy(output.buffer, at);
    output.end += held.bytes.length;
    return true;
  }
  const { session } = connection;
  const shown = session.has(Feature.xerror) ? status : legacyStatus(undefined, session, status);
  if (shown < 0) return false;
  const { opcode, opaque, value } = held;
  const duration = session.has(Feature.tracing) ? 0 : -1;
  const body = status === Status.success ? value : value.subarray(0, 0);
  body.copy(output.buffer, output.reply(opcode, opaque, shown, duration, 0, 0, body.length, 0, 0, 0));
  return true;
}
