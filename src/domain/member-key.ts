// Member keys compare trimmed and without case (R33): within a source, across ticks and across batches.

export const foldKey = (key: string): string => key.trim().toLowerCase()

/** A part of a key, to search for in folded keys. Blanks stay: they may stand inside a key. */
export const foldKeyPart = (part: string): string => part.toLowerCase()
