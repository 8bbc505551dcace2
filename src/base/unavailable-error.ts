import { UnwritableError } from './unwritable-error.ts';

/** A change cannot be stored now, and can be once a server is back or other writers are done. The message is shown to the client. */
export class UnavailableError extends UnwritableError {}
