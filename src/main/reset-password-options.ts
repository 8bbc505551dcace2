// The options of `divan reset-password`.
import { nodeOptions } from './node-options.ts';
import { kinds, type OptionValues } from './options.ts';

export const resetPasswordOptions = {
  'data-dir': nodeOptions['data-dir'],
  username: { kind: kinds.text, doc: 'new name of the administrator (default: the current one)' },
  password: { kind: kinds.text, doc: 'new password; better given by environment', required: true },
} as const;

export type ResetPasswordOptions = OptionValues<typeof resetPasswordOptions>;
