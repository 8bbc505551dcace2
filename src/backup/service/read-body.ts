// Reads the JSON bodies of requests; a wrong body is refused with `invalidBody`.
import { backupRefusals } from './backup.refusals.ts';
import { BodyError, readJsonBody } from './body-fields.ts';

/** @throws AppError 400 that names the field */
export const bodyOf = <const F extends Parameters<typeof readJsonBody>[1]>(body: Buffer, fields: F) =>
  orInvalidBody(() => readJsonBody(body, fields));

/** What `read` returns. @throws AppError 400 in place of its BodyError */
export function orInvalidBody<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof BodyError) throw backupRefusals.invalidBody(undefined, error.message);
    throw error;
  }
}
