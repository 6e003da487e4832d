// The API documentation as one HTML page, generated from the OpenAPI document: no script, nothing loaded from elsewhere.
import { createHash } from 'node:crypto'
import type { Json } from '../base/text/json.ts'

type Node = { readonly [key: string]: Json }

const STYLE = `
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1b; }
h2 { margin-top: 2.5rem; text-transform: capitalize; }
details { border: 1px solid #d0d0d0; border-radius: 6px; margin: .5rem 0; padding: .4rem .8rem; }
summary { cursor: pointer; }
summary b { display: inline-block; width: 4.5rem; }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
pre { background: #f5f5f5; padding: .8rem; overflow: auto; max-height: 28rem; border-radius: 4px; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; border-top: 1px solid #e4e4e4; padding: .25rem .5rem .25rem 0; }
@media (prefers-color-scheme: dark) {
  body { background: #191919; color: #e8e8e8; } pre { background: #262626; } details, td, th { border-color: #444; }
}
`

/** Allows the style above and nothing else. */
export const DOCS_PAGE_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256')
  .update(STYLE)
  .digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const escaped = (value: Json | undefined): string =>
  String(value ?? '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')

export function docsPage(document: Node): string {
  const info = document.info as Node
  const operations = Object.entries(document.paths as Node).flatMap(([path, methods]) =>
    Object.entries(methods as Node).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation: operation as Node,
    })),
  )
  const byTag = Map.groupBy(operations, ({ operation }) => String((operation.tags as Json[])[0]))
  const sections = [...byTag].map(
    ([tag, all]) =>
      `<h2>${escaped(tag)}</h2>${all.map((one) => section(one.path, one.method, one.operation)).join('')}`,
  )
  const schemas = (document.components as Node).schemas as Node
  const shapes = Object.entries(schemas).map(
    ([name, schema]) =>
      `<details id="${escaped(name)}"><summary>${escaped(name)}</summary>${listing(schema)}</details>`,
  )
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(info.title)}</title><style>${STYLE}</style></head>
<body><h1>${escaped(info.title)} ${escaped(info.version)}</h1><p>${escaped(info.description)}
For programs: <a href="/api/openapi.json">openapi.json</a>.</p>
${sections.join('\n')}<h2>Shapes</h2>${shapes.join('')}</body></html>
`
}

function section(path: string, method: string, operation: Node): string {
  const parameters = (operation.parameters ?? []) as Node[]
  const rows = parameters.map(
    (one) =>
      `<tr><td><code>${escaped(one.name)}</code></td><td>${escaped(one.in)}${one.required ? ', required' : ''}</td><td>${escaped(one.description)}</td></tr>`,
  )
  const content = (operation.requestBody as Node | undefined)?.content as Node | undefined
  const bodies = Object.entries(content ?? {}).map(
    ([type, media]) => `<h4>Body: ${escaped(type)}</h4>${listing((media as Node).schema!)}`,
  )
  const answers = Object.entries(operation.responses as Node).map(([status, answer]) => {
    const [shape] = Object.values(((answer as Node).content ?? {}) as Node) as Node[]
    const isRefusal = Number(status) >= 400
    return `<tr><td>${status}</td><td>${escaped((answer as Node).description)}</td><td>${isRefusal || !shape ? '' : listing(shape.schema!)}</td></tr>`
  })
  return `<details><summary><b>${method}</b> <code>${escaped(path)}</code> – ${escaped(operation.summary)}</summary>
<p>${escaped(operation.description)}</p>${rows.length > 0 ? `<table>${rows.join('')}</table>` : ''}
${bodies.join('')}<h4>Answers</h4><table>${answers.join('')}</table></details>`
}

function listing(schema: Json): string {
  const reference = (schema as Node).$ref
  if (typeof reference === 'string') {
    const name = reference.split('/').at(-1)
    return `<a href="#${escaped(name)}">${escaped(name)}</a>`
  }
  return `<pre>${escaped(JSON.stringify(schema, null, 2))}</pre>`
}
