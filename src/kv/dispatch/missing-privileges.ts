// The refusal of a request whose user lacks privileges.
import { Status } from '#wire/status.ts';
import { Privilege } from '../admin.ts';
import type { Request } from './request.ts';

/** Refuses the request and names the privileges of `bits`: all of them are required, or one of them. */
export function refuseMissing(request: Request, bits: number, required: 'all' | 'one' = 'all'): Status {
  const names = Object.entries(Privilege).filter(([, bit]) => (bits & bit) !== 0);
  const text = names
    .map(([name]) => name.charAt(0).toUpperCase() + name.slice(1))
    .join(required === 'all' ? ' and ' : ' or ');
  return request.refuse(Status.noAccess, `Requires privilege: ${text}`);
}
