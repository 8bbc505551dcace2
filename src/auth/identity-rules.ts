// Rules for names and passwords. Each returns the text of the first violation, or null.

/** Unicode code points. */
const nameCharactersMax = 128;

export const isTooLong = (name: string): boolean => [...name].length > nameCharactersMax;

export function nameProblem(name: string, what: 'Username' | 'Group name'): string | null {
  if (name === '') return `${what} must not be empty`;
  if (isTooLong(name)) return `${what} may not exceed ${nameCharactersMax} characters`;
  if (name.startsWith('@')) return `${what} cannot start with '@'`;
  // Clients remove these steps from a path (RFC 3986, 5.2.4), so that no path would lead to the user.
  if (name === '.' || name === '..') return `${what} cannot be . or ..`;
  if (invisible.test(name)) return `${what} must not contain invisible or combining characters`;
  if (mixesScripts(name)) return `${what} must not mix letters of scripts that look alike`;
  if (!wrongInName.test(name)) return null;
  return `${what} must not contain spaces, control or any of ()<>,;:\\"/[]?={} characters and must be valid utf8`;
}

/** Bytes that were not UTF-8 arrive as U+FFFD. */
const wrongInName = /[\s\p{Cc}()<>,;:\\"/[\]?={}\uFFFD]/u;

/** Zero-width and direction marks, tags, variation selectors, unassigned and private characters, marks on letters. */
const invisible = /[\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Mn}\p{Me}\u115F\u1160\u3164\uFFA0\u2800]/u;

const confusable = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Armenian}/u];

/** `аdmin` with a Cyrillic first letter reads as the Latin one. */
function mixesScripts(name: string): boolean {
  return confusable.filter((script) => script.test(name)).length > 1;
}

export interface PasswordPolicy {
  readonly minLength: number;
  readonly enforceUppercase: boolean;
  readonly enforceLowercase: boolean;
  readonly enforceDigits: boolean;
  readonly enforceSpecialChars: boolean;
}

export const defaultPasswordPolicy: PasswordPolicy = {
  minLength: 6,
  enforceUppercase: false,
  enforceLowercase: false,
  enforceDigits: false,
  enforceSpecialChars: false,
};

/** The specification lists the period as a special character, published systems the backslash: both are accepted. */
const specials = '@%+\\/\'"!#$^?:,(){}[]~`-_.';

/** Bounds the work of hashing. */
export const passwordBytesMax = 4096;

export function passwordProblem(password: string, policy: PasswordPolicy): string | null {
  const characters = [...password];
  if (characters.length < policy.minLength) {
    return `The password must be at least ${policy.minLength} characters long.`;
  }
  if (Buffer.byteLength(password) > passwordBytesMax) {
    return `The password must be at most ${passwordBytesMax} bytes long.`;
  }
  if (password.includes('\uFFFD')) return 'The password must be valid utf8';
  if (/\p{Cc}/u.test(password)) return 'The password must not contain control characters';
  return classProblem(password, characters, policy);
}

function classProblem(
  password: string,
  characters: readonly string[],
  policy: PasswordPolicy,
): string | null {
  const must = (what: string) => `The password must contain at least one ${what}`;
  if (policy.enforceUppercase && password.toLowerCase() === password) return must('uppercase letter');
  if (policy.enforceLowercase && password.toUpperCase() === password) return must('lowercase letter');
  if (policy.enforceDigits && !/[0-9]/.test(password)) return must('digit');
  if (policy.enforceSpecialChars && !characters.some((character) => specials.includes(character))) {
    return must(`of the following characters: ${specials}`);
  }
  return null;
}
