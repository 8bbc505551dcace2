// Redaction of support bundles at the level `partial`: names of users, mail addresses, keys of documents, distinguished names and
// audited statements, which may contain documents, become salted hashes, marked as `<ud>…</ud>`. Equal texts stay equal, so that
// events can be followed.
import { createHash } from 'node:crypto';

const string = String.raw`"(?:[^"\\]|\\.)*"`;
/** Members of JSON whose texts are about a user or documents. Those of `compoundMember` have several texts, in a list or an object. */
const userMembers =
  'user|real_user|username|authUser|groupsQueryUser|bindDN|groupsQuery|ldap_group_ref|emailUser|sender|dn|statement';
const userMember = new RegExp(`("(?:${userMembers})"\\s*:\\s*)(${string})`, 'g');
const compoundMember = new RegExp(
  `("(?:recipients|disabledUsers|userDNMapping)"\\s*:\\s*)(\\[(?:${string}|[^"\\]])*\\]|\\{(?:${string}|[^"}])*\\}|${string})`,
  'g',
);
/** A text of a compound member, with its name in an object. */
const textOfMember = new RegExp(`((?:${string}\\s*:\\s*)?)(${string})`, 'g');
/** The member `domain` (`local` or `external`) is kept: it does not identify the user. */
const domainName = /^"domain"/;
/** A path segment that names a user, a group or a document. */
const namingPath = /(\/rbac\/users\/\w+\/|\/rbac\/groups\/|\/docs\/)([^/?\s"\\]+)/g;
/** Begins only where a word begins: otherwise a long word without an at sign would be searched again from each of its characters. */
const mailAddress = /(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g;
const word = /[\p{L}\p{N}_.@+-]+/gu;
/** Also matches a replaced text, whose parts are no words. */
const wordOrMark = new RegExp(`<ud>[0-9a-f]{40}</ud>|${word.source}`, 'gu');
const punctuation = '.@+-';
/** Accounts of the node itself begin with `@`, and names of nodes with `ns_1@`: both are kept. */
const ownName = /^(@|ns_1@)/;

export class Redactor {
  readonly #salt: string;
  readonly #words: ReadonlySet<string>;
  readonly #phrases: RegExp | null;

  /** `names` are replaced wherever they occur as words. */
  constructor(salt: string, names: readonly string[]) {
    this.#salt = salt;
    const nonEmpty = names.filter((name) => name !== '');
    const isWord = (name: string) => name.match(word)?.[0] === name;
    this.#words = new Set(nonEmpty.filter(isWord));
    const phrases = nonEmpty
      .filter((name) => !isWord(name))
      .sort((left, right) => right.length - left.length)
      .map((name) => escaped(jsonText(name)));
    this.#phrases = phrases.length > 0 ? new RegExp(phrases.join('|'), 'g') : null;
  }

  redact(text: string): string {
    const marked = text
      .replaceAll(userMember, (_, start: string, value: string) => start + this.#hashedText(value))
      .replaceAll(compoundMember, (_, start: string, value: string) => start + this.#hashedTexts(value))
      .replaceAll(namingPath, (_, path: string, name: string) => path + this.#mark(decoded(name)));
    const named = this.#phrases ? marked.replaceAll(this.#phrases, (name) => this.#hashed(name)) : marked;
    return named
      .replaceAll(wordOrMark, (match) => this.#hashedWord(match))
      .replaceAll(mailAddress, (address) => this.#hashed(address));
  }

  #hashedTexts(value: string): string {
    return value.replaceAll(textOfMember, (all, name: string, text: string) =>
      domainName.test(name) ? all : name + this.#hashedText(text),
    );
  }

  /** A text in its quotation marks. */
  #hashedText(text: string): string {
    return text === '""' ? text : `"${this.#hashed(text.slice(1, -1))}"`;
  }

  #hashedWord(match: string): string {
    if (this.#words.has(match)) return this.#hashed(match);
    let [start, end] = [0, match.length];
    while (start < end && punctuation.includes(match[start] as string)) start++;
    while (end > start && punctuation.includes(match[end - 1] as string)) end--;
    const name = match.slice(start, end);
    return this.#words.has(name) ? match.slice(0, start) + this.#hashed(name) + match.slice(end) : match;
  }

  #hashed(text: string): string {
    return ownName.test(text) ? text : this.#mark(text);
  }

  #mark(text: string): string {
    return `<ud>${createHash('sha1').update(this.#salt).update(text).digest('hex')}</ud>`;
  }
}

/** The text as it is escaped in JSON. */
const jsonText = (text: string): string => JSON.stringify(text).slice(1, -1);
const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
