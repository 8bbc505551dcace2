// The engine as the query service calls it. A module of its own, so that it is loaded with the first statement.
import type { Engine } from '#query/state/engine-port.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import { jsonText } from '#sqlpp/values/json-text.ts';

export const engine: Engine = {
  prepare() {
    throw sqlError(16003, 'statements');
  },
  execute() {
    throw sqlError(16003, 'statements');
  },
  textOf: jsonText,
};
