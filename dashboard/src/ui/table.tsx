// A table of rows with named columns. For long lists its pages are added by a button; a list of 100,000 is shown by the heat map.
import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { countText } from './page.tsx'

export interface Column<Row> {
  readonly name: string
  readonly cell: (row: Row) => ReactNode
  readonly isNumber?: boolean
  /** Instead of the name: a box that selects all rows. */
  readonly head?: ReactNode
}

interface TableProps<Row> {
  /** What the rows are, for people who do not see the page. */
  readonly caption: string
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
  readonly rowKey: (row: Row) => string | number
  /** More rows on the server. */
  readonly more?: (() => void) | undefined
  readonly total?: number | undefined
}

export function Table<Row>({ caption, rows, columns, rowKey, more, total }: TableProps<Row>) {
  return (
    // Wide tables scroll by themselves, not the page; the keyboard reaches them.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area needs the keyboard (WCAG 2.1.1)
    // biome-ignore lint/a11y/useSemanticElements: not a group of fields
    <div className="table-scroll" role="group" tabIndex={0} aria-label={caption}>
      <table>
        <caption className="hidden-text">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ name, isNumber, head }) => (
              <th key={name} scope="col" className={isNumber ? 'number' : undefined}>
                {head ?? name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map(({ name, cell, isNumber }) => (
                <td key={name} className={isNumber ? 'number' : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {more && (
        <p className="more">
          <Button onClick={more}>Show more</Button>{' '}
          {total !== undefined && `${countText(rows.length)} of ${countText(total)}`}
        </p>
      )}
    </div>
  )
}
