"""Tests of scikit-learn and hmmlearn that fail with estimators of `models` in their places: suite, reason, tests."""

# fmt: off
DIFFERS = {
    "sklearn.svm.tests.test_svm": {
        'The last digits differ, or the expected digits are of a looser tolerance': [
            "test_precomputed",
        ],
        "The shape of a kernel's matrix is checked in fit": [
            "test_svr_errors",
        ],
        'The test reads private attributes or module functions': [
            "test_tweak_params", "test_gamma_scale", "test_svc_raises_error_internal_representation",
        ],
        'The message has other words, or names the argument': [
            "test_negative_sample_weights_mask_all_samples", "test_svc_nonfinite_params",
        ],
        'A negative weight is refused': [
            "test_negative_weights_svc_leave_just_one_label",
            "test_negative_weights_svc_leave_two_labels[partial-mask-label-1-SVC]",
            "test_negative_weights_svc_leave_two_labels[partial-mask-label-1-NuSVC]",
            "test_negative_weight_equal_coeffs[partial-mask-label-1-SVC]",
            "test_negative_weight_equal_coeffs[partial-mask-label-1-NuSVC]",
            "test_negative_weight_equal_coeffs[partial-mask-label-1-NuSVR]",
        ],
        'What is refused there works here': [
            "test_bad_input", "test_sparse_precomputed", "test_linearsvc_parameters[42-False-l2-hinge]",
        ],
        'coef_ may be set by hand, and is used': [
            "test_immutable_coef_property",
        ],
        'max_iter and convergence belong to another method, which says so in other words or has converged by then': [
            "test_libsvm_convergence_warnings", "test_linear_svm_convergence_warnings",
        ],
        'break_ties does not depend on the shape of the decision function': [
            "test_svc_invalid_break_ties_param",
        ],
        'The test needs a tie that the more accurate answer does not have': [
            "test_svc_ovr_tie_breaking[42-SVC]",
        ],
        'Samples are numbers; letters become numbers by encode_symbols': [
            "test_custom_kernel_not_array_input",
        ],
        'n_iter_ is the largest number of iterations, not an array': [
            "test_n_iter_libsvm[42-2-SVC-ndarray]", "test_n_iter_libsvm[42-2-NuSVC-ndarray]",
            "test_n_iter_libsvm[42-3-SVC-ndarray]", "test_n_iter_libsvm[42-3-NuSVC-ndarray]",
            "test_n_iter_libsvm[42-4-SVC-ndarray]", "test_n_iter_libsvm[42-4-NuSVC-ndarray]",
        ],
        'There is nothing deprecated here': [
            "test_probability_raises_futurewarning", "test_svc_nusvc_probA_probB_deprecated",
        ],
    },
    "sklearn.svm.tests.test_sparse": {
        'An attribute or method that models does not have': [
            "test_linearsvc_iris",
        ],
        'Multipliers are not unique where samples repeat or few dimensions hold them': [
            "test_sparse_oneclasssvm[csr_matrix-poly-X_train2-None-X_test2]",
            "test_sparse_oneclasssvm[csr_matrix-rbf-X_train3-None-X_test3]",
            "test_sparse_oneclasssvm[csr_array-poly-X_train2-None-X_test2]",
            "test_sparse_oneclasssvm[csr_array-rbf-X_train3-None-X_test3]",
            "test_sparse_oneclasssvm[lil_matrix-poly-X_train2-None-X_test2]",
            "test_sparse_oneclasssvm[lil_matrix-rbf-X_train3-None-X_test3]",
            "test_sparse_oneclasssvm[lil_array-poly-X_train2-None-X_test2]",
            "test_sparse_oneclasssvm[lil_array-rbf-X_train3-None-X_test3]",
        ],
        "kernel='sigmoid' is not positive semidefinite": [
            "test_sparse_oneclasssvm[csr_matrix-sigmoid-X_train0-None-X_test0]",
            "test_sparse_oneclasssvm[csr_matrix-sigmoid-X_train1-None-X_test1]",
            "test_sparse_oneclasssvm[csr_matrix-sigmoid-X_train2-None-X_test2]",
            "test_sparse_oneclasssvm[csr_matrix-sigmoid-X_train3-None-X_test3]",
            "test_sparse_oneclasssvm[csr_array-sigmoid-X_train0-None-X_test0]",
            "test_sparse_oneclasssvm[csr_array-sigmoid-X_train1-None-X_test1]",
            "test_sparse_oneclasssvm[csr_array-sigmoid-X_train2-None-X_test2]",
            "test_sparse_oneclasssvm[csr_array-sigmoid-X_train3-None-X_test3]",
            "test_sparse_oneclasssvm[lil_matrix-sigmoid-X_train0-None-X_test0]",
            "test_sparse_oneclasssvm[lil_matrix-sigmoid-X_train1-None-X_test1]",
            "test_sparse_oneclasssvm[lil_matrix-sigmoid-X_train2-None-X_test2]",
            "test_sparse_oneclasssvm[lil_matrix-sigmoid-X_train3-None-X_test3]",
            "test_sparse_oneclasssvm[lil_array-sigmoid-X_train0-None-X_test0]",
            "test_sparse_oneclasssvm[lil_array-sigmoid-X_train1-None-X_test1]",
            "test_sparse_oneclasssvm[lil_array-sigmoid-X_train2-None-X_test2]",
            "test_sparse_oneclasssvm[lil_array-sigmoid-X_train3-None-X_test3]",
        ],
        'Equal samples share a multiplier, which may be on either': [
            "test_sparse_realdata",
        ],
        'max_iter and convergence belong to another method, which says so in other words or has converged by then': [
            "test_timeout",
        ],
    },
    "sklearn.linear_model.tests.test_logistic": {
        'The last digits differ, or the expected digits are of a looser tolerance': [
            "test_logistic_glmnet", "test_logistic_cv", "test_logistic_regression_cv_refit",
        ],
        'What is refused there works here': [
            "test_check_solver_option[LogisticRegression]", "test_large_sparse_matrix[csr_matrix-liblinear]",
            "test_large_sparse_matrix[csr_matrix-sag]", "test_large_sparse_matrix[csr_matrix-saga]",
            "test_large_sparse_matrix[csr_array-liblinear]", "test_large_sparse_matrix[csr_array-sag]",
            "test_large_sparse_matrix[csr_array-saga]", "test_liblinear_with_large_values",
            "test_liblinear_multiclass_raises[LogisticRegression]",
        ],
        'An attribute or method that models does not have': [
            "test_sparsify", "test_logistic_regression_callback_support",
            "test_logistic_regression_callback_fitted_estimator", "test_logistic_regression_callback_support_warning",
        ],
        'Nothing is random': [
            "test_liblinear_dual_random_state",
        ],
        'n_jobs is no parameter': [
            "test_logistic_cv_multinomial_score",
        ],
        'A class without weight is refused by name': [
            "test_multinomial_logistic_regression_string_inputs",
        ],
        'The test reads private attributes or module functions': [
            "test_logreg_predict_proba_multinomial",
        ],
        'max_iter and convergence belong to another method, which says so in other words or has converged by then': [
            "test_max_iter",
        ],
        'n_iter_ is the largest number of iterations, not an array': [
            "test_n_iter", "test_newton_cholesky_fallback_to_lbfgs",
        ],
        'Answers are in double precision': [
            "test_dtype_match[csr_matrix-False-lbfgs]", "test_dtype_match[csr_matrix-False-newton-cg]",
            "test_dtype_match[csr_matrix-False-newton-cholesky]", "test_dtype_match[csr_matrix-False-sag]",
            "test_dtype_match[csr_matrix-False-saga]", "test_dtype_match[csr_matrix-True-lbfgs]",
            "test_dtype_match[csr_matrix-True-newton-cg]", "test_dtype_match[csr_matrix-True-newton-cholesky]",
            "test_dtype_match[csr_matrix-True-sag]", "test_dtype_match[csr_matrix-True-saga]",
            "test_dtype_match[csr_array-False-lbfgs]", "test_dtype_match[csr_array-False-newton-cg]",
            "test_dtype_match[csr_array-False-newton-cholesky]", "test_dtype_match[csr_array-False-sag]",
            "test_dtype_match[csr_array-False-saga]", "test_dtype_match[csr_array-True-lbfgs]",
            "test_dtype_match[csr_array-True-newton-cg]", "test_dtype_match[csr_array-True-newton-cholesky]",
            "test_dtype_match[csr_array-True-sag]", "test_dtype_match[csr_array-True-saga]",
        ],
        'There is nothing deprecated here': [
            "test_l1_ratio_non_elasticnet", "test_penalty_deprecated[LogisticRegression]",
            "test_l1_ratio_None_deprecated", "test_logisticregression_warns_with_n_jobs",
        ],
        'penalty=None is C=inf, without a warning on C': [
            "test_penalty_none",
        ],
        'max_iter is at least 1': [
            "test_zero_max_iter",
        ],
    },
    "sklearn.tests.test_discriminant_analysis": {
        'What is refused there works here': [
            "test_lda_predict", "test_qda", "test_qda_covariance_estimator", "test_qda_regularization",
            "test_raises_value_error_on_same_number_of_classes_and_samples",
            "test_raises_value_error_on_one_sample_per_class",
        ],
        'Priors must sum to 1; the message names the argument': [
            "test_lda_priors",
        ],
        'There is no reduction of dimensions': [
            "test_lda_explained_variance_ratio", "test_lda_orthogonality", "test_get_feature_names_out",
        ],
        'covariance_ is always kept': [
            "test_lda_store_covariance",
        ],
        'There is no covariance_estimator': [
            "test_lda_shrinkage", "test_lda_ledoitwolf", "test_qda_ledoitwolf",
        ],
        'Answers are in double precision': [
            "test_lda_dtype_match[float32-float32]",
        ],
        'The test reads private attributes or module functions': [
            "test_qda_coefs",
        ],
        'Covariances are covariances_': [
            "test_qda_store_covariance",
        ],
    },
    "sklearn.tests.test_naive_bayes": {
        'There is no partial_fit': [
            "test_gnb", "test_gnb_sample_weight", "test_gnb_partial_fit", "test_discretenb_partial_fit[BernoulliNB]",
            "test_discretenb_partial_fit[CategoricalNB]", "test_discretenb_partial_fit[MultinomialNB]",
            "test_NB_partial_fit_no_first_classes[42-BernoulliNB]",
            "test_NB_partial_fit_no_first_classes[42-CategoricalNB]",
            "test_NB_partial_fit_no_first_classes[42-MultinomialNB]",
            "test_NB_partial_fit_no_first_classes[42-GaussianNB]",
            "test_discretenb_provide_prior_with_partial_fit[BernoulliNB]",
            "test_discretenb_provide_prior_with_partial_fit[CategoricalNB]",
            "test_discretenb_provide_prior_with_partial_fit[MultinomialNB]",
            "test_discretenb_sample_weight_multiclass[BernoulliNB]",
            "test_discretenb_sample_weight_multiclass[CategoricalNB]",
            "test_discretenb_sample_weight_multiclass[MultinomialNB]", "test_mnnb",
            "test_mnb_prior_unobserved_targets",
        ],
        'The message has other words, or names the argument': [
            "test_gnb_neg_priors", "test_gnb_wrong_nb_priors", "test_gnb_prior_greater_one",
            "test_discretenb_provide_prior[BernoulliNB]", "test_discretenb_provide_prior[CategoricalNB]",
            "test_discretenb_provide_prior[MultinomialNB]",
        ],
        'The test reads private attributes or module functions': [
            "test_gnb_check_update_with_no_data", "test_check_alpha",
        ],
        'One class is refused by name': [
            "test_discretenb_degenerate_one_class_case[False-True-BernoulliNB]",
            "test_discretenb_degenerate_one_class_case[False-True-CategoricalNB]",
            "test_discretenb_degenerate_one_class_case[False-True-MultinomialNB]",
            "test_discretenb_degenerate_one_class_case[True-False-BernoulliNB]",
            "test_discretenb_degenerate_one_class_case[True-False-CategoricalNB]",
            "test_discretenb_degenerate_one_class_case[True-False-MultinomialNB]",
            "test_discretenb_degenerate_one_class_case[True-True-BernoulliNB]",
            "test_discretenb_degenerate_one_class_case[True-True-CategoricalNB]",
            "test_discretenb_degenerate_one_class_case[True-True-MultinomialNB]",
        ],
        'An attribute or method that models does not have': [
            "test_bnb_feature_log_prob", "test_categoricalnb",
        ],
        "var_smoothing is a share of each feature's own variance, not of the largest one": [
            "test_check_accuracy_on_digits",
        ],
        'MixedNaiveBayes takes features of several kinds': [
            "test_categorical_input_tag[CategoricalNB]",
        ],
    },
    "sklearn.tests.test_multiclass": {
        'There is no partial_fit': [
            "test_ovr_partial_fit", "test_ovr_partial_fit_exceptions", "test_ovo_partial_fit_predict",
        ],
    },
    "hmmlearn.tests.test_gaussian_hmm::TestGaussianHMMWithDiagonalCovars": {
        'An attribute or method that models does not have': [
            "TestGaussianHMMWithDiagonalCovars.test_criterion",
        ],
        'A start that is drawn anew, or few data, are no reason for a message': [
            "TestGaussianHMMWithDiagonalCovars.test_fit_ignored_init_warns",
            "TestGaussianHMMWithDiagonalCovars.test_fit_too_little_data",
        ],
    },
    "hmmlearn.tests.test_categorical_hmm": {
        'The test reads private attributes or module functions': [
            "TestCategoricalHMM.test__check_and_set_categorical_n_features",
        ],
    },
    "hmmlearn.tests.test_base": {
        'An attribute or method that models does not have': [
            "test_stationary_distribution",
        ],
    },
}
# fmt: on
