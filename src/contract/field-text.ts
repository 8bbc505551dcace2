// Texts of refused fields, which clients see and compare.

export const fieldText = {
  required: 'The value must be supplied',
  forbidden: 'The value must not be supplied',
  integer: 'The value must be an integer',
  string: 'The value must be a string',
  unsupported: 'Unsupported key',
  noParameters: 'Request should have parameters',
  invalidJson: 'Invalid Json',
  unexpectedJson: 'Unexpected Json',
  enterpriseOnly: 'Supported in enterprise edition only',
  strings: 'Must be an array of non-empty strings',
  oneOf: (values: readonly (string | number | boolean)[]) =>
    `The value must be one of the following: [${values.join(',')}]`,
  range: (min: number, max: number) =>
    `The value must be in range from ${min} to ${Number.isFinite(max) ? max : 'infinity'}`,
} as const;
