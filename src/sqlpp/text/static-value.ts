// The value of a constant expression: literals, and arrays and objects of them.
import type { Expression } from '../tree/expression.ts';
import { newObject, setMember, type Value } from '../values/value.ts';

/** Undefined if the expression is not made of literals only. */
export function staticValue(expression: Expression): { readonly value: Value } | undefined {
  switch (expression.kind) {
    case 'constant':
      return { value: expression.value };
    case 'array': {
      const items: Value[] = [];
      for (const item of expression.items) {
        const found = staticValue(item);
        if (found === undefined) return undefined;
        items.push(found.value ?? null);
      }
      return { value: items };
    }
    case 'object': {
      const object = newObject();
      for (const { name, value } of expression.members) {
        const found = staticValue(value);
        if (found === undefined || name.kind !== 'constant' || typeof name.value !== 'string')
          return undefined;
        setMember(object, name.value, found.value);
      }
      return { value: object };
    }
    default:
      return undefined;
  }
}
