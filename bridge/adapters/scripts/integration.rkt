;; What ralph-bridge loads into Racket: announcements of prompts and commands (OSC 633), each ending in a nonce and the prompt's number.
;; `_ripple_exec_file` is what adapter files call.
(define _ripple_exec_file
  (let ([nonce "{nonce}"]
        [number 0]
        [failed #f])
    (define (mark payload)
      (let ([out (current-output-port)])
        (write-string (string-append "\e]633;" payload ";" nonce "." (number->string number) "\a") out)
        (flush-output out)))
    (define shown (error-display-handler))
    (error-display-handler
     (lambda (message value)
       (set! failed #t)
       (shown message value)))
    (define (more-on-the-line?)
      ;; Another form typed behind the last one: then there is no prompt for anybody yet.
      (define in (current-input-port))
      (let skip ()
        (and (char-ready? in)
             (let ([next (peek-char in)])
               (cond
                 [(eof-object? next) #t]
                 [(char-whitespace? next) (read-char in) (skip)]
                 [else #t])))))
    (define fresh #t)
    (current-prompt-read
     (lambda ()
       (unless (more-on-the-line?)
         (flush-output (current-error-port))
         (mark (if failed "D;1" "D;0"))
         (set! failed #f)
         (mark (string-append "P;Cwd=" (path->string (current-directory))))
         (set! number (add1 number))
         (mark "A")
         (display "> ")
         (flush-output)
         (mark "B"))
       (let* ([in ((current-get-interaction-input-port))]
              [form ((current-read-interaction) (object-name in) in)])
         (when fresh (mark "C"))
         (set! fresh (not (more-on-the-line?)))
         form)))
    (lambda (path)
      (define forms
        (call-with-input-file path
          (lambda (in)
            (let loop ([all '()])
              (let ([form (read in)])
                (if (eof-object? form) (reverse all) (loop (cons form all))))))))
      (with-handlers ([exn:fail:filesystem? void]) (delete-file path))
      (let loop ([rest forms])
        (cond
          [(null? rest) (void)]
          [(null? (cdr rest)) (eval (car rest))]
          [else
           (call-with-values (lambda () (eval (car rest))) (lambda values (for-each (current-print) values)))
           (loop (cdr rest))])))))
