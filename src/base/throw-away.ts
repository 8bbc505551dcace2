// Folders of throw-away nodes: names that begin with this are deleted when the node ends.
export const throwAwayPrefix = 'divan-testing-';
