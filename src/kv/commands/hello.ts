import { grantFeatures } from '#wire/features.ts';
import { Status } from '#wire/status.ts';
import { beginReply } from '../dispatch/reply.ts';
import { type CommandResult, Outcome, type Request } from '../dispatch/request.ts';

const agentBytesMax = 250;
/** Many times the number of known features. */
const featuresMax = 1024;

/** HELLO: the granted features replace those of an earlier HELLO. */
export function hello(request: Request): CommandResult {
  const { frame, session } = request;
  const { withheldFeatures } = request.environment.directory;
  const bytes = frame.end - frame.valueStart;
  if (bytes % 2 !== 0)
    return request.refuse(Status.invalidArguments, 'Features must be a list of 16-bit codes');
  if (bytes > 2 * featuresMax)
    return request.refuse(Status.invalidArguments, `At most ${featuresMax} features can be requested`);
  if (frame.valueStart - frame.keyStart > agentBytesMax) {
    return request.refuse(Status.invalidArguments, 'Client name is too long');
  }
  const requested: number[] = [];
  for (let at = frame.valueStart; at < frame.end; at += 2) {
    const code = frame.buffer.readUInt16BE(at);
    if (!withheldFeatures.includes(code)) requested.push(code);
  }
  const granted = grantFeatures(requested);
  if (!granted)
    return request.refuse(
      Status.invalidArguments,
      'A requested feature requires a feature that was not requested',
    );
  session.agent = frame.buffer.toString('utf8', frame.keyStart, frame.valueStart);
  session.grant(granted);
  const at = beginReply(request, 0, 0, granted.length * 2, 0, 0, 0);
  for (const [index, code] of granted.entries()) request.output.buffer.writeUInt16BE(code, at + index * 2);
  return Outcome.replied;
}
