// The names of the folders of throw-away nodes begin with this. Such a folder is deleted when its node ends.
export const throwAwayPrefix = 'divan-testing-';
