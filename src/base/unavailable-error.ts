import { UnwritableError } from './unwritable-error.ts';

/**
 * A change cannot be stored now; the client can retry it later (a server does not answer, or other writers changed the key first at every
 * attempt). The message is shown to the client.
 */
export class UnavailableError extends UnwritableError {}
