// Makes foreign text safe to show on a terminal: it could move the cursor, change colours or disguise a name.

/** Control characters, and marks that change the direction of text. */
const UNPRINTABLE = /(?![\t\n])\p{Cc}|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

/** Shows what must not reach a terminal as `\u001b`, which JSON reads as the same character. */
export const printable = (text: string): string =>
  text.replaceAll(
    UNPRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
