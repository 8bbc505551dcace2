// The engine as the query service calls it. A separate module, so that it is loaded with the first statement.
import type { Engine } from '#query/state/engine-port.ts';
import { prepareStatement, prepareSteps } from '#sqlpp/run/prepare.ts';
import { jsonText } from '#sqlpp/values/json-text.ts';
import { renewSteps } from '#sqlpp/values/step-limit.ts';
import { isLargeValue, textParts } from '#sqlpp/values/text-steps.ts';

export const engine: Engine = {
  prepare: prepareStatement,
  prepareSteps,
  execute: (prepared, context) => prepared.program.run(prepared, context),
  textOf(value) {
    renewSteps();
    return jsonText(value);
  },
  partsOf(value) {
    renewSteps();
    return isLargeValue(value) ? textParts(value) : null;
  },
};
