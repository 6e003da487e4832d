// The button. A `danger` one takes something away from people.
import type { ButtonHTMLAttributes } from 'react'

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly kind?: 'primary' | 'plain' | 'danger'
}
export const Button = ({ kind = 'plain', className = '', ...rest }: ButtonProps) => (
  <button type="button" className={`button ${kind} ${className}`} {...rest} />
)
