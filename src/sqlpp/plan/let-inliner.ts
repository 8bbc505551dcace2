// Replaces LET variables in predicates by their expressions, so that indexes can serve the predicates.
import type { Expression } from '../tree/expression.ts';
import type { SlotBinding } from './logical.ts';
import { replace, visit } from './walk.ts';

/** The most nodes that replacements add to the predicates of a query. Where each variable reads the one before it twice, thirty variables make a billion nodes. */
const addedNodesMax = 10_000;

export class LetInliner {
  readonly #bindings: ReadonlyMap<number, SlotBinding>;
  readonly #mayReplace: (expression: Expression) => boolean;
  /** By slot: the nodes of a variable's expression in which all variables are replaced. */
  readonly #sizes = new Map<number, number>();
  #nodesLeft = addedNodesMax;

  /** `mayReplace`: whether a variable with this expression is replaced. */
  constructor(bindings: readonly SlotBinding[], mayReplace: (expression: Expression) => boolean) {
    this.#bindings = new Map(bindings.map((binding) => [binding.slot, binding]));
    this.#mayReplace = mayReplace;
  }

  /** The predicate with its variables replaced, except those whose expressions would have too many nodes. */
  inlined(predicate: Expression): Expression {
    if (this.#bindings.size === 0) return predicate;
    return replace(predicate, (node) => {
      const binding = this.#bindingToInline(node);
      if (!binding) return undefined;
      const size = this.#sizeOf(binding);
      if (size > this.#nodesLeft) return undefined;
      this.#nodesLeft -= size;
      return this.#expanded(binding.expression);
    });
  }

  #expanded(expression: Expression): Expression {
    return replace(expression, (node) => {
      const binding = this.#bindingToInline(node);
      return binding && this.#expanded(binding.expression);
    });
  }

  /** The binding of the variable that the node reads, if the variable is replaced. */
  #bindingToInline(node: Expression): SlotBinding | undefined {
    const binding = node.kind === 'slot' ? this.#bindings.get(node.slot) : undefined;
    return binding && this.#mayReplace(binding.expression) ? binding : undefined;
  }

  #sizeOf({ slot, expression }: SlotBinding): number {
    const known = this.#sizes.get(slot);
    if (known !== undefined) return known;
    let size = 0;
    visit(expression, (node) => {
      const inner = this.#bindingToInline(node);
      size += inner ? this.#sizeOf(inner) : 1;
    });
    this.#sizes.set(slot, size);
    return size;
  }
}
