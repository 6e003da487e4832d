// A command of matoolkit as a person types it, inside sentences, notifications and answers. What is filled in stays one word in a shell,
// and nothing more: keys of people come from data sources, and somebody copies the line.

/** What shells leave as it is. */
const PLAIN = /^[\p{L}\p{N}_.,:@+=/-]+$/u

const wordOf = (value: string | number): string => {
  const text = String(value)
  return PLAIN.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** ``commandLine`batch get ${id}` ``: `matoolkit batch get 7`. A list stands for as many words. */
export function commandLine(
  { raw }: TemplateStringsArray,
  ...values: readonly (string | number | readonly (string | number)[])[]
): string {
  const words = values.map((value) => [value].flat().map(wordOf).join(' '))
  return `matoolkit ${String.raw({ raw }, ...words)}`
}
