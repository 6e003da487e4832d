// A number with its noun, in the right number.

/** `1 batch`, `2 batches`. */
export const countText = (count: number, word: string, many = `${word}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? word : many}`
