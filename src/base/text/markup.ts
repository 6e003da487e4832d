// A template tag for HTML: every inserted value is escaped unless it is Html already, so that a name with a "<" is shown, not parsed.
import { printable } from './printable.ts'

export interface Html {
  readonly html: string
}

type Part = string | number | null | undefined | Html | readonly Html[]

export function html(literals: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const texts = parts.map((part, at) => markup(part) + literals[at + 1]!)
  return { html: [literals[0]!, ...texts].join('') }
}

export const htmlText = ({ html: text }: Html): string => text

function markup(part: Part): string {
  if (part === null || part === undefined) return ''
  if (typeof part === 'string') return escapeHtml(printable(part))
  if (typeof part === 'number') return String(part)
  return 'html' in part ? part.html : part.map(htmlText).join('')
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!)
