;; What ralph-bridge loads into Common Lisp: announcements of prompts and commands (OSC 633), each ending in a nonce.
;; SBCL, ABCL and CCL; `ripple-exec-file` is what adapter files call.
(defpackage :ralph-bridge (:use :cl))
(in-package :ralph-bridge)

(defvar *nonce* "{nonce}")
(defvar *failed* nil)

(defun mark (payload)
  (format *standard-output* "~C]633;~A;~A~C" (code-char 27) payload *nonce* (code-char 7)))

(defun cwd ()
  (namestring #+sbcl *default-pathname-defaults* #-sbcl (truename ".")))

(defun finished ()
  (finish-output *error-output*)
  (mark (if *failed* "D;1" "D;0"))
  (setf *failed* nil)
  (mark (concatenate 'string "P;Cwd=" (let ((folder (cwd))) (if (string= folder "") (namestring (truename ".")) folder))))
  (mark "A"))

(defun begun ()
  (mark "B")
  (finish-output *standard-output*))

(defun cl-user::ripple-exec-file (path)
  "Run a file as if it had been typed: each form in turn, the values of the last one are shown."
  (let ((forms (with-open-file (in path :external-format #+sbcl :utf-8 #-sbcl :default)
                 (loop with end = (gensym)
                       for form = (read in nil end)
                       until (eq form end)
                       collect form))))
    (ignore-errors (delete-file path))
    (loop for (form . rest) on forms
          for values = (multiple-value-list (eval form))
          unless rest return (values-list values))))

#+sbcl
(progn
  (let ((prompt sb-impl::*repl-prompt-fun*))
    (setf sb-impl::*repl-prompt-fun*
          (lambda (stream)
            (finished)
            (funcall prompt stream)
            (begun))))
  (let ((read-form sb-impl::*repl-read-form-fun*))
    (setf sb-impl::*repl-read-form-fun*
          (lambda (in out)
            (let ((form (funcall read-form in out)))
              (loop while (and (listen in) (member (peek-char nil in nil nil) '(#\Newline #\Return #\Space #\Tab)))
                    do (read-char in))
              (mark "C")
              form))))
  (sb-ext:without-package-locks
    (sb-int:encapsulate 'sb-debug::debug-prompt 'ralph-bridge
                        (lambda (prompt stream)
                          (setf *failed* t)
                          (finished)
                          (funcall prompt stream)
                          (begun)))))

#+ccl
(let ((prompt #'ccl::print-listener-prompt))
  (let ((ccl::*warn-if-redefine-kernel* nil))
    (setf (fdefinition 'ccl::print-listener-prompt)
          (lambda (stream &rest more)
            (finished)
            (apply prompt stream more)
            (begun)))))

#+abcl
(let ((prompt tpl::*prompt*))
  (setf tpl::*prompt*
        (lambda (stream)
          (finished)
          (if (functionp prompt) (funcall prompt stream) (format stream prompt (tpl::prompt-package-name)))
          (begun))))

(in-package :cl-user)
