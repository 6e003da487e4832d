// The row of a member in the list: who it is, whether it is on hold, and the state of each step as a sign.
// biome-ignore-all lint/a11y/useSemanticElements: rows are placed by position, which a table cannot do
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid is the one tab stop
// biome-ignore-all lint/a11y/useKeyWithClickEvents: the grid has the keyboard
import { memo } from 'react'
import { Link } from 'wouter'
import { Sign } from '../../../ui/sign.tsx'
import { cellOf } from './cells.ts'
import type { GridColumn, GridRow } from './grid-rows.ts'

export const cellId = (row: number, column: number): string => `cell-${row}-${column}`

interface MemberRowProps {
  readonly batchId: number
  readonly index: number
  readonly top: number
  readonly row: GridRow | undefined
  readonly columns: readonly GridColumn[]
  readonly activeColumn: number | null
  readonly isSelected: boolean
  readonly toggle: ((memberId: number) => void) | null
  readonly onCell: (row: number, column: number) => void
}

export const MemberRow = memo(function MemberRow(props: MemberRowProps) {
  const { batchId, index, top, row, columns, activeColumn, isSelected, toggle, onCell } = props
  return (
    <div
      role="row"
      className="grid-row"
      aria-rowindex={index + 2}
      aria-selected={toggle ? isSelected : undefined}
      data-state={row?.state}
      style={{ transform: `translateY(${top}px)` }}
    >
      <div role="rowheader" className="grid-who" aria-colindex={1}>
        {toggle && (
          <input
            type="checkbox"
            tabIndex={-1}
            disabled={!row}
            checked={isSelected}
            aria-label={`Select ${row?.memberKey ?? `row ${index + 1}`}`}
            onChange={() => row && toggle(row.memberId)}
          />
        )}
        {row ? (
          <Link href={`/batches/${batchId}/members/${row.memberId}`} tabIndex={-1}>
            {row.memberKey}
          </Link>
        ) : (
          <span className="quiet">{index + 1}</span>
        )}
        {row?.isHeld && (
          <span role="img" className="held-sign" aria-label="on hold" title="On hold">
            <Sign sign="⏸" />
          </span>
        )}
      </div>
      {columns.map(({ phaseName, stepName }, column) => {
        const cell = cellOf(row?.cells[column])
        return (
          <div
            key={`${phaseName}/${stepName}`}
            id={cellId(index, column)}
            role="gridcell"
            className={activeColumn === column ? 'cell active' : 'cell'}
            data-look={cell.look}
            aria-colindex={column + 2}
            aria-label={row ? `${stepName} ${cell.name}` : 'loading'}
            title={row && `${row.memberKey}: ${phaseName} / ${stepName} ${cell.name}`}
            onClick={() => onCell(index, column)}
          >
            {row && <Sign sign={cell.sign} />}
          </div>
        )
      })}
    </div>
  )
})
