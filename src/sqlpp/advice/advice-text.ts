// Texts of advised indexes: keys in the syntax of CREATE INDEX, and index names derived from the keys.
import { crc32 } from 'node:zlib';
import type { Source } from '../plan/block.ts';
import { replace } from '../plan/walk.ts';
import { formatExpression } from '../text/format.ts';
import type { Expression, RangeBinding } from '../tree/expression.ts';
import { identifierOf } from '../tree/identifier.ts';

/** The expression over the document, as CREATE INDEX has it: without the alias of the source. */
export function ofDocument(node: Expression, source: Source): Expression {
  return replace(node, (part) => {
    if (part.kind === 'slot' && part.slot === source.slot) return { kind: 'self', at: part.at };
    if (part.kind === 'slot' && part.slot === source.metaSlot)
      return { kind: 'call', name: 'meta', arguments: [], at: part.at };
    if (part.kind === 'slot' && part.slot === source.idSlot)
      return {
        kind: 'field',
        of: { kind: 'call', name: 'meta', arguments: [], at: part.at },
        name: { kind: 'constant', value: 'id', at: part.at },
        ignoresCase: false,
        at: part.at,
      };
    if (part.kind === 'array star')
      return { kind: 'call', name: 'array_star', arguments: [ofDocument(part.of, source)], at: part.at };
    if (part.kind !== 'field' || part.of.kind !== 'slot' || part.of.slot !== source.slot) return undefined;
    const { name } = part;
    return name.kind === 'constant'
      ? { kind: 'identifier', name: String(name.value), ignoresCase: part.ignoresCase, at: part.at }
      : undefined;
  });
}

/** The text of a key: without outer parentheses. */
export function keyText(node: Expression): string {
  switch (node.kind) {
    case 'arithmetic': {
      const { left, operator, right } = node;
      const isChain = left.kind === 'arithmetic' && isSum(left.operator) === isSum(operator);
      const first = isChain || !isOperation(left) ? keyText(left) : formatExpression(left);
      return `${first}${operator}${isOperation(right) ? formatExpression(right) : keyText(right)}`;
    }
    case 'concatenation':
      return node.operands.map(keyText).join('||');
    case 'array':
      return `[${node.items.map(itemText).join(', ')}]`;
    default:
      return withoutParentheses(formatExpression(node));
  }
}

const isSum = (operator: string): boolean => operator === '+' || operator === '-';

const isOperation = (node: Expression): boolean =>
  node.kind === 'arithmetic' || node.kind === 'concatenation';

/** An item of an array: paths without parentheses, the lower side of a comparison first. */
function itemText(node: Expression): string {
  if (node.kind === 'field') {
    const { name } = node;
    const last =
      name.kind === 'constant' ? withoutParentheses(formatExpression(nameOf(name))) : `[${itemText(name)}]`;
    return `${itemText(node.of)}.${last}`;
  }
  if (node.kind === 'comparison') {
    const [left, right] = [itemText(node.left), itemText(node.right)];
    return node.operator.startsWith('>')
      ? `${right} ${node.operator.replace('>', '<')} ${left}`
      : `${left} ${node.operator} ${right}`;
  }
  return withoutParentheses(formatExpression(node));
}

function nameOf(name: Extract<Expression, { kind: 'constant' }>): Expression {
  return identifierOf(String(name.value), name.at);
}

/** The text without parentheses around all of it. */
export function withoutParentheses(text: string): string {
  if (!text.startsWith('(') || !text.endsWith(')')) return text;
  let depth = 0;
  for (let at = 0; at < text.length - 1; at++) {
    const character = text[at];
    if (character === '"' || character === "'" || character === '`') at = closing(text, at, character);
    else if (character === '(') depth++;
    else if (character === ')' && --depth === 0) return text;
  }
  return text.slice(1, -1);
}

/** The position of the quote that ends a name or string. */
function closing(text: string, start: number, quote: string): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === quote) return at;
  }
  return text.length;
}

/** The bindings after FOR: `` `x` IN `a` ``. */
export function bindingsText(bindings: readonly RangeBinding[], source: Source): string {
  return bindings
    .map(
      ({ name, of, isDeep }) => `\`${name}\` ${isDeep ? 'WITHIN' : 'IN'} ${keyText(ofDocument(of, source))}`,
    )
    .join(', ');
}

const operatorNames: Readonly<Record<string, string>> = {
  '+': '_add_',
  '-': '_sub_',
  '*': '_mult_',
  '/': '_div_',
  '%': '_mod_',
  '||': '_concat_',
};

/** The part of an index's name for a key with this text, without the names of `variables`. */
export function namePart(text: string, variables: readonly string[] = []): string {
  let plain = text;
  for (const name of variables) plain = plain.replaceAll(`\`${name}\`.`, '').replaceAll(`\`${name}\``, '');
  return plain
    .replaceAll(/\|\||[+\-*/%]/g, (operator) => operatorNames[operator] as string)
    .replaceAll(/\b\d+ <=? /g, '') // the constant of a comparison
    .replaceAll(/[[\]`: ]/g, '')
    .replaceAll(/\W+/g, '_')
    .replaceAll(/_{2,}/g, '_')
    .replaceAll(/^_|_$/g, '');
}

/** Characters. A longer name is truncated, and the checksum of the rest (up to ten digits) follows. */
const nameLengthMax = 74;
const truncatedNameLength = 64;

export function indexName(parts: readonly string[]): string {
  const name = `adv_${parts.filter((part) => part !== '').join('_')}`;
  if (name.length <= nameLengthMax) return name;
  return `${name.slice(0, truncatedNameLength)}${crc32(name.slice(truncatedNameLength))}`;
}
