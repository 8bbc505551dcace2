// Keys `function-libraries/global/<name>` and `function-libraries/<bucket uuid>.<scope uid>/<name>`: the JavaScript code of a library.
import type { StoredScope } from './stored-scope.ts';

export const librariesPrefix = 'function-libraries/';

export interface LibraryState {
  code: string;
}

const globalPart = 'global';

export const libraryKey = (scope: StoredScope, name: string): string =>
  `${librariesPrefix}${scope === undefined ? globalPart : `${scope.bucketUuid}.${scope.scopeUid}`}/${name}`;

export function partsOfLibraryKey(key: string): { scope: StoredScope; name: string } {
  const [, part = '', name = ''] = key.split('/');
  if (part === globalPart) return { scope: undefined, name };
  const [bucketUuid = '', scopeUid = ''] = part.split('.');
  return { scope: { bucketUuid, scopeUid }, name };
}
