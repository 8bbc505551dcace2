// Errors of clients of the data port.
import { Status } from '#wire/status.ts';

/** The connection failed or ended before the reply: the outcome of the request is unknown. */
export class DataPortError extends Error {}

/** A node that requests are for cannot be reached: none of them was sent. */
export class UnsentError extends DataPortError {}

/** The server replied with an error status. */
export class StatusError extends Error {
  readonly opcode: number;
  readonly status: number;

  constructor(opcode: number, status: number) {
    super(
      `data port: opcode 0x${opcode.toString(16)} answered status 0x${status.toString(16)}${nameSuffix(status)}`,
    );
    this.opcode = opcode;
    this.status = status;
  }
}

/** Statuses after which the same request may succeed a little later. */
const transient: ReadonlySet<number> = new Set([
  Status.temporaryFailure,
  Status.busy,
  Status.outOfMemory,
  Status.notMyVbucket,
  Status.syncWriteInProgress,
  Status.syncWriteRecommitInProgress,
  Status.notInitialized,
]);

export const isTransient = (status: number): boolean => transient.has(status);

export const statusName = (status: number): string =>
  Object.entries(Status).find(([, code]) => code === status)?.[0] ?? `0x${status.toString(16)}`;

const nameSuffix = (status: number): string => {
  const name = statusName(status);
  return name.startsWith('0x') ? '' : ` (${name})`;
};
