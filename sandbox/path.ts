// Segments of a request's path.

/** A segment with broken escapes stays as it is; it matches nothing. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
