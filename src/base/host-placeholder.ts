// Nodes without a name in the configurations that clients read: all of them are reached at the host that the client connected to.

/** The host of such a node; clients replace it by the host that they connected to. */
export const hostPlaceholder = '$HOST';

/** The host at which a client reaches a node. `connected` is the host of the node that sent the configuration; a node without a name is there. */
export const reachedHost = (name: string | undefined, connected: string): string =>
  name === undefined || name === hostPlaceholder ? connected : name;
